"""What AWS answers to its command line, in the names of botocore's service models."""

from __future__ import annotations

from pydantic import Field

from dra_fleet.clouds.answers import Answered, Login


class CallerIdentity(Login):
    """The answer of `aws sts get-caller-identity`."""

    account: str = Field(alias="Account")
    arn: str = Field(alias="Arn")

    @property
    def entity(self) -> tuple[str, str, str]:
        """The ARN of the user or role that IAM knows, its kind and its name.

        Of a session of a role it is the role's, without its path, which no session tells:
        https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
        """
        kind, _, rest = self.arn.rpartition(":")[2].partition("/")
        if kind != "assumed-role":
            return self.arn, kind, rest.rpartition("/")[2]
        partition, name = self.arn.split(":")[1], rest.split("/")[0]
        return f"arn:{partition}:iam::{self.account}:role/{name}", "role", name


class _ServiceQuota(Answered):
    code: str = Field(alias="QuotaCode")
    value: float = Field(alias="Value")


class ServiceQuotas(Answered):
    """The answer of `aws service-quotas list-service-quotas`."""

    quotas: tuple[_ServiceQuota, ...] = Field(alias="Quotas")


class _Offering(Answered):
    machine: str = Field(alias="InstanceType")
    zone: str = Field(alias="Location")


class Offerings(Answered):
    """The answer of `aws ec2 describe-instance-type-offerings`."""

    offerings: tuple[_Offering, ...] = Field(alias="InstanceTypeOfferings")


class _CapacityReservation(Answered):
    machine: str = Field(alias="InstanceType")
    zone: str = Field(alias="AvailabilityZone")
    total: int = Field(alias="TotalInstanceCount")
    state: str = Field(alias="State")


class CapacityReservations(Answered):
    """The answer of `aws ec2 describe-capacity-reservations`."""

    reservations: tuple[_CapacityReservation, ...] = Field(alias="CapacityReservations")


class _Evaluation(Answered):
    action: str = Field(alias="EvalActionName")
    decision: str = Field(alias="EvalDecision")
    missing: tuple[str, ...] = Field(default=(), alias="MissingContextValues")


class Simulation(Answered):
    """The answer of `aws iam simulate-principal-policy`."""

    results: tuple[_Evaluation, ...] = Field(alias="EvaluationResults")


class _EksVersion(Answered):
    version: str = Field(alias="clusterVersion")


class EksVersions(Answered):
    """The answer of `aws eks describe-cluster-versions`."""

    versions: tuple[_EksVersion, ...] = Field(alias="clusterVersions")

    def offered(self) -> list[str]:
        """The minors."""
        return [item.version for item in self.versions]
