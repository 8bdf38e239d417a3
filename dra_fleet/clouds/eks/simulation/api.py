"""APIs of AWS as Karpenter calls them with AWS's SDK: EC2 and IAM (query), SSM (JSON), EKS (REST).

Replies are written by botocore's service models, which reject what an API does not return. Prices are not
simulated: Karpenter then uses the prices that it contains.
"""

from __future__ import annotations

import json
import logging
import re
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from dra_fleet.clouds.eks import CLOUD
from dra_fleet.clouds.eks.facts import eks_facts
from dra_fleet.clouds.eks.simulation.account import ACCOUNT, made_id, refuse
from dra_fleet.clouds.eks.simulation.group_nodes import find_type
from dra_fleet.clouds.eks.simulation.instances import ami_of, image_id, launch
from dra_fleet.clouds.eks.simulation.network_types import service_model, zone_of
from dra_fleet.clouds.eks.simulation.small_types import CLUSTER, INSTANCE, PROFILE, ROLE, TEMPLATE
from dra_fleet.rehearsal.clouds.cloud import ApiReply, CloudRefusal
from dra_fleet.rehearsal.simulator.errors import SimulatorError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dra_fleet.clouds.eks.simulation.account import EksAccount
    from dra_fleet.clouds.eks.simulation.clusters import EksClusters
    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.cloud import Properties

_SCOPE: Final = re.compile(r"Credential=[^/]+/\d+/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request")
_CODE: Final = re.compile(r"api error (?P<code>[\w.]+): (?P<text>.*)", re.DOTALL)
_IMAGE: Final = re.compile(
    r"/aws/service/eks/optimized-ami/[\d.]+/amazon-linux-2023/(x86_64|arm64)/(standard|nvidia)/recommended/image_id"
)
_GENERAL: Final = ("m6i.large", "m6i.xlarge")
_ZONES: Final = "abcd"
_TAGS: Final = {"instance": "TagSpecification", "launch-template": "TagSpecification"}
_BAD_REQUEST: Final = 400
_DRY_RUN: Final = 412

logger = logging.getLogger(__name__)


class AwsApi:
    """Answers requests. Instances join and leave their cluster after the reply, as in reality."""

    def __init__(self, account: EksAccount, clusters: EksClusters) -> None:
        self._account = account
        self._clusters = clusters
        self._handlers: Mapping[str, Callable[[Properties, str], Properties]] = {
            "DescribeInstanceTypes": self._describe_instance_types,
            "DescribeInstanceTypeOfferings": self._describe_instance_type_offerings,
            "DescribeSubnets": self._describe_subnets,
            "DescribeSecurityGroups": self._describe_security_groups,
            "DescribeImages": self._describe_images,
            "DescribeCapacityReservations": self._describe_capacity_reservations,
            "DescribePlacementGroups": self._describe_placement_groups,
            "DescribeSpotPriceHistory": self._describe_spot_price_history,
            "DescribeInstanceStatus": self._describe_instance_status,
            "DescribeLaunchTemplates": self._describe_launch_templates,
            "CreateLaunchTemplate": self._create_launch_template,
            "DeleteLaunchTemplate": self._delete_launch_template,
            "RunInstances": self._run_instances,
            "CreateFleet": self._create_fleet,
            "DescribeInstances": self._describe_instances,
            "TerminateInstances": self._terminate_instances,
            "CreateTags": self._create_tags,
            "GetInstanceProfile": self._get_instance_profile,
            "CreateInstanceProfile": self._create_instance_profile,
            "AddRoleToInstanceProfile": self._add_role_to_instance_profile,
            "RemoveRoleFromInstanceProfile": self._remove_role_from_instance_profile,
            "DeleteInstanceProfile": self._delete_instance_profile,
            "TagInstanceProfile": self._tag_instance_profile,
            "ListInstanceProfiles": self._list_instance_profiles,
        }

    async def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> ApiReply:
        """Answer one request; its signature names the service and the region."""
        scope = _SCOPE.search(headers.get("Authorization", ""))
        service, region = (scope["service"], scope["region"]) if scope else ("", "")
        target = headers.get("X-Amz-Target", "").rpartition(".")[2]
        try:
            if service == "eks":
                return _json(200, {"cluster": self._cluster(path.rpartition("/")[2])})
            if service == "ssm" and target == "GetParameter":
                return _json(200, {"Parameter": _parameter(json.loads(body)["Name"])})
            if service not in {"ec2", "iam"}:
                raise refuse("AccessDeniedException", f"(rehearsal) {service or path} is not simulated")
            request = _request(body)
            handler = self._handlers.get(request["Action"])
            if handler is None:
                raise refuse("InvalidAction", f"(rehearsal) {request['Action']} is not simulated")
            if request.get("DryRun") == "true":
                raise refuse("DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
            return _xml(service, request["Action"], handler(request, region))
        except CloudRefusal as refusal:
            return _error(service, refusal)

    def _cluster(self, name: str) -> Properties:
        found = self._account.find(CLUSTER, name)
        if found is None:
            raise refuse("ResourceNotFoundException", f"No cluster found for name: {name}.")
        names = ("arn", "endpoint", "version", "certificateAuthority", "kubernetesNetworkConfig", "status")
        return {"name": name, **{key: found["state"][key] for key in names}}

    # EC2

    def _describe_instance_types(self, _: Properties, __: str) -> Properties:
        return {"InstanceTypes": [_type(name) for name in (*CLOUD.machines, *_GENERAL) if find_type(name)]}

    def _describe_instance_type_offerings(self, _: Properties, region: str) -> Properties:
        offered = self._account.limits.is_offered
        return {
            "InstanceTypeOfferings": [
                {"InstanceType": name, "LocationType": "availability-zone", "Location": f"{region}{zone}"}
                for name in (*CLOUD.machines, *_GENERAL)
                for zone in _ZONES
                if offered(name, f"{region}{zone}")
            ]
        }

    def _describe_subnets(self, request: Properties, region: str) -> Properties:
        return {"Subnets": [self._subnet(name, region) for name in _filtered(request, "subnet-id")]}

    def _subnet(self, name: str, region: str) -> Properties:
        zone = zone_of(self._account, name, region)
        words = region.split("-")
        return {
            "SubnetId": name,
            "AvailabilityZone": zone,
            "AvailabilityZoneId": f"{words[0]}{words[1][0]}{words[2]}-az{_ZONES.index(zone[-1]) + 1}",
            "AvailableIpAddressCount": 8000,
            "State": "available",
        }

    def _describe_security_groups(self, request: Properties, _: str) -> Properties:
        names = _filtered(request, "group-id")
        return {"SecurityGroups": [{"GroupId": name, "GroupName": name} for name in names]}

    def _describe_images(self, request: Properties, _: str) -> Properties:
        return {"Images": [_image(name) for name in _filtered(request, "image-id")]}

    def _describe_capacity_reservations(self, _: Properties, __: str) -> Properties:
        return {"CapacityReservations": []}

    def _describe_placement_groups(self, _: Properties, __: str) -> Properties:
        return {"PlacementGroups": []}

    def _describe_spot_price_history(self, _: Properties, __: str) -> Properties:
        return {"SpotPriceHistory": []}

    def _describe_instance_status(self, _: Properties, __: str) -> Properties:
        return {"InstanceStatuses": []}

    def _describe_launch_templates(self, request: Properties, _: str) -> Properties:
        found = list(self._templates())
        names = request.get("LaunchTemplateName")
        if names and not {one["name"] for one in found} >= set(names):
            raise refuse(
                "InvalidLaunchTemplateName.NotFoundException",
                "At least one of the launch templates specified in the request does not exist.",
            )
        kept = [
            one for one in found if (not names or one["name"] in names) and _matches(one["tags"], request)
        ]
        return {"LaunchTemplates": [_template(one) for one in kept]}

    def _templates(self) -> Iterator[Properties]:
        for one in self._account.all(TEMPLATE):
            if "data" in one:
                yield {"id": one["id"], "name": one["inputs"]["name"], **one["data"]}

    def _create_launch_template(self, request: Properties, region: str) -> Properties:
        name, data = str(request["LaunchTemplateName"]), request["LaunchTemplateData"]
        cards = cast("list[Properties]", data.get("NetworkInterface") or [])
        groups: list[str] = [one for card in cards for one in card.get("SecurityGroupId", [])]
        about: Properties = {
            "UserData": data.get("UserData", ""),
            "ImageId": data.get("ImageId", ""),
            "groups": groups or data.get("SecurityGroupId", []),
            "tags": _tags(request, "launch-template"),
        }
        identifier = made_id("lt", name)
        record = {"id": identifier, "type": TEMPLATE, "urn": name, "region": region}
        self._account.put({**record, "inputs": {"name": name}, "state": {}, "data": about})
        return {"LaunchTemplate": _template({"id": identifier, "name": name, **about})}

    def _delete_launch_template(self, request: Properties, _: str) -> Properties:
        named = {request.get("LaunchTemplateId"), request.get("LaunchTemplateName")}
        for one in self._account.all(TEMPLATE):
            if "data" in one and {one["id"], one["inputs"]["name"]} & named:
                self._account.remove(one)
        return {}

    def _run_instances(self, _: Properties, __: str) -> Properties:
        raise refuse("UnsupportedOperation", "(rehearsal) RunInstances is simulated with DryRun only")

    def _create_fleet(self, request: Properties, region: str) -> Properties:
        """Launch each instance by the first override that has a machine; a pool has one type."""
        tags, target = _tags(request, "instance"), request["TargetCapacitySpecification"]
        spot = target.get("DefaultTargetCapacityType") == "spot"
        known = {one["name"]: one for one in self._templates()}
        choices = [
            (
                {
                    **known[one["LaunchTemplateSpecification"]["LaunchTemplateName"]],
                    "tags": tags,
                    "spot": spot,
                },
                item,
            )
            for one in request["LaunchTemplateConfigs"]
            for item in one["Overrides"]
        ]
        errors: list[Properties] = []
        instances: list[Properties] = []
        for _ in range(int(target["TotalTargetCapacity"])):
            for template, override in choices:
                chosen = {"Overrides": {key: value for key, value in override.items() if key != "Priority"}}
                try:
                    made = launch(self._account, region, template, override)
                except CloudRefusal as refusal:
                    code, text = _parted(refusal)
                    errors.append(
                        {"LaunchTemplateAndOverrides": chosen, "ErrorCode": code, "ErrorMessage": text}
                    )
                    continue
                self._join(made)
                instances.append(
                    {
                        "LaunchTemplateAndOverrides": chosen,
                        "InstanceIds": [made["id"]],
                        "InstanceType": override["InstanceType"],
                        "Lifecycle": "spot" if spot else "on-demand",
                    }
                )
                break
        return {"FleetId": made_id("fleet", repr(request)), "Errors": errors, "Instances": instances}

    def _describe_instances(self, request: Properties, _: str) -> Properties:
        names = request.get("InstanceId")
        found = self._account.all(INSTANCE)
        if missing := set(names or ()) - {one["id"] for one in found}:
            raise refuse("InvalidInstanceID.NotFound", f"The instance ID '{min(missing)}' does not exist")
        kept = [one for one in found if not names or one["id"] in names]
        kept = [one for one in kept if _matches(one["inputs"]["tags"], request)]
        return {
            "Reservations": [
                {"ReservationId": made_id("r", one["id"]), "Instances": [_instance(one)]} for one in kept
            ]
        }

    def _terminate_instances(self, request: Properties, region: str) -> Properties:
        self._describe_instances({"InstanceId": request["InstanceId"]}, region)
        state = {"CurrentState": {"Code": 32, "Name": "shutting-down"}}
        for name in request["InstanceId"]:
            record = self._account.find(INSTANCE, name)
            if record is not None:
                self._account.remove(record)
                self._join(record)
        return {"TerminatingInstances": [{"InstanceId": name, **state} for name in request["InstanceId"]]}

    def _create_tags(self, request: Properties, _: str) -> Properties:
        for name in request["ResourceId"]:
            record = self._account.find(INSTANCE, name)
            if record is None:
                raise refuse("InvalidInstanceID.NotFound", f"The instance ID '{name}' does not exist")
            record["inputs"]["tags"] |= {one["Key"]: one.get("Value", "") for one in request["Tag"]}
            self._account.put(record)
        return {}

    def _join(self, instance: Record) -> None:
        cluster = str(instance["inputs"]["cluster"])
        try:
            self._clusters.place(cluster)
        except (CloudRefusal, SimulatorError) as error:  # such as a cluster that was deleted
            logger.info("instances of %s: %s", cluster, error)

    # IAM

    def _get_instance_profile(self, request: Properties, _: str) -> Properties:
        return {"InstanceProfile": _profile(self._profile(request))}

    def _create_instance_profile(self, request: Properties, _: str) -> Properties:
        name = str(request["InstanceProfileName"])
        if self._account.find(PROFILE, name) is not None:
            raise refuse("EntityAlreadyExists", f"Instance Profile {name} already exists.")
        inputs: Properties = {"path": request.get("Path", "/"), "roles": []}
        record: Record = {"id": name, "type": PROFILE, "urn": name, "inputs": inputs, "state": {}}
        self._account.put(record)
        return {"InstanceProfile": _profile(record)}

    def _add_role_to_instance_profile(self, request: Properties, _: str) -> Properties:
        record, role = self._profile(request), str(request["RoleName"])
        if self._account.find(ROLE, role) is None:
            raise refuse("NoSuchEntity", f"The role with name {role} cannot be found.")
        record["inputs"]["roles"] = [role]
        self._account.put(record)
        return {}

    def _remove_role_from_instance_profile(self, request: Properties, _: str) -> Properties:
        record = self._profile(request)
        record["inputs"]["roles"] = []
        self._account.put(record)
        return {}

    def _delete_instance_profile(self, request: Properties, _: str) -> Properties:
        self._account.remove(self._profile(request))
        return {}

    def _tag_instance_profile(self, request: Properties, _: str) -> Properties:
        self._profile(request)
        return {}

    def _list_instance_profiles(self, request: Properties, _: str) -> Properties:
        start = str(request.get("PathPrefix", "/"))
        found = [one for one in self._account.all(PROFILE) if one["inputs"]["path"].startswith(start)]
        return {"InstanceProfiles": [_profile(one) for one in found], "IsTruncated": False}

    def _profile(self, request: Properties) -> Record:
        name = str(request["InstanceProfileName"])
        found = self._account.find(PROFILE, name)
        if found is None:
            raise refuse("NoSuchEntity", f"Instance Profile {name} cannot be found.")
        return found


def _type(name: str) -> Properties:
    kind, machine = find_type(name), CLOUD.machines.get(name)
    if kind is None:
        raise refuse("InvalidInstanceType", f"The following supplied instance types do not exist: [{name}]")
    cards = [{"NetworkCardIndex": index, "MaximumNetworkInterfaces": 4} for index in range(kind.cards)]
    reported: Properties = {
        "InstanceType": name,
        "SupportedUsageClasses": ["on-demand", "spot"],
        "SupportedVirtualizationTypes": ["hvm"],
        "BareMetal": False,
        "Hypervisor": "nitro",
        "ProcessorInfo": {"SupportedArchitectures": ["arm64" if kind.arch == "arm64" else "x86_64"]},
        "VCpuInfo": {"DefaultVCpus": kind.cpus},
        "MemoryInfo": {"SizeInMiB": kind.memory_gib * 1024},
        "NetworkInfo": {
            "MaximumNetworkCards": kind.cards,
            "DefaultNetworkCardIndex": 0,
            "NetworkCards": cards,
            "Ipv4AddressesPerInterface": 30,
            "EncryptionInTransitSupported": True,
        },
    }
    if machine is not None and kind.gpus:
        gpu = {"Name": kind.gpu, "Manufacturer": "NVIDIA", "Count": kind.gpus, "MemoryInfo": {"SizeInMiB": 0}}
        reported["GpuInfo"] = {"Gpus": [gpu], "TotalGpuMemoryInMiB": 0}
    return reported


def _image(name: str) -> Properties:
    image = eks_facts().image(ami_of(name))
    return {
        "ImageId": name,
        "Name": ami_of(name),
        "Architecture": "arm64" if image is not None and image.arch == "arm64" else "x86_64",
        "CreationDate": "2026-11-01T00:00:00.000Z",
        "State": "available",
    }


def _parameter(name: str) -> Properties:
    found = _IMAGE.fullmatch(name)
    if found is None:
        raise refuse("ParameterNotFound", f"(rehearsal) {name} is not simulated")
    ami = f"AL2023_{'ARM_64' if found[1] == 'arm64' else 'x86_64'}_{found[2].upper()}"
    return {"Name": name, "Type": "String", "Value": image_id(ami)}


def _instance(record: Record) -> Properties:
    inputs = record["inputs"]
    return {
        "InstanceId": record["id"],
        "InstanceType": inputs["type"],
        "ImageId": inputs["image"],
        "LaunchTime": record["state"]["launchTime"],
        "SubnetId": inputs["subnet"],
        "Placement": {"AvailabilityZone": inputs["zone"], "Tenancy": "default"},
        "State": {"Code": 16, "Name": "running"},
        "SecurityGroups": [{"GroupId": one} for one in inputs["groups"]],
        "Tags": [{"Key": key, "Value": value} for key, value in inputs["tags"].items()],
        **({"SpotInstanceRequestId": made_id("sir", record["id"])} if inputs["spot"] else {}),
    }


def _template(about: Properties) -> Properties:
    tags = [{"Key": key, "Value": value} for key, value in about["tags"].items()]
    return {"LaunchTemplateId": about["id"], "LaunchTemplateName": about["name"], "Tags": tags}


def _profile(record: Record) -> Properties:
    def about(kind: str, name: str, path: str) -> Properties:
        arn = f"arn:aws:iam::{ACCOUNT}:{kind}{path}{name}"
        return {"Path": path, "Arn": arn, "CreateDate": "2026-11-28T00:00:00Z"}

    name, path = record["id"], record["inputs"]["path"]
    roles = [
        {"RoleName": role, "RoleId": made_id("AROA", role).upper(), **about("role", role, "/")}
        for role in record["inputs"]["roles"]
    ]
    own = {"InstanceProfileName": name, "InstanceProfileId": made_id("AIPA", name).upper()}
    return {**own, **about("instance-profile", name, path), "Roles": roles}


def _tags(request: Properties, kind: str) -> dict[str, str]:
    found = [one for one in request.get(_TAGS[kind], []) if one["ResourceType"] == kind]
    return {tag["Key"]: tag.get("Value", "") for one in found for tag in one.get("Tag", [])}


def _filtered(request: Properties, name: str) -> list[str]:
    return [value for one in request.get("Filter", []) if one["Name"] == name for value in one["Value"]]


def _matches(tags: Mapping[str, str], request: Properties) -> bool:
    for one in request.get("Filter", []):
        kind, _, key = one["Name"].partition(":")
        if kind == "tag" and tags.get(key) not in one["Value"]:
            return False
        if kind == "tag-key" and not tags.keys() & set(one["Value"]):
            return False
    return True


def _request(body: bytes) -> Properties:
    """Return the parameters of a query as nested objects and lists: `Filter.1.Value.2` is in two lists."""
    root: Properties = {}
    for path, value in parse_qsl(body.decode(), keep_blank_values=True):
        *parents, last = path.split(".")
        place = root
        for part in parents:
            place = place.setdefault(part, {})
        place[last] = value
    return cast("Properties", _lists(root))


def _lists(value: object) -> object:
    if not isinstance(value, dict):
        return value
    found = {key: _lists(item) for key, item in cast("Properties", value).items()}
    if found.pop("member", None) is not None:
        return _lists(cast("Properties", value)["member"])
    return [found[key] for key in sorted(found, key=int)] if all(map(str.isdigit, found)) else found


def _xml(service: str, action: str, value: Properties) -> ApiReply:
    model = service_model(service)
    output = model["operations"][action].get("output", {})
    text = _written(model["shapes"], output["shape"], value) if output else ""
    if wrapper := output.get("resultWrapper"):
        text = f"<{wrapper}>{text}</{wrapper}>"
    return _answer(200, f"<{action}Response>{text}</{action}Response>")


def _written(shapes: Mapping[str, Any], name: str, value: object) -> str:
    shape = shapes[name]
    if shape["type"] == "structure":
        members = [(shape["members"][key], key, item) for key, item in cast("Properties", value).items()]
    elif shape["type"] == "list":
        members = [(shape["member"], "member", item) for item in cast("list[object]", value)]
    else:
        return escape(str(value).lower() if isinstance(value, bool) else str(value))
    tags = [
        (one.get("locationName", key), _written(shapes, one["shape"], item)) for one, key, item in members
    ]
    return "".join(f"<{tag}>{text}</{tag}>" for tag, text in tags)


def _answer(status: int, text: str) -> ApiReply:
    return ApiReply(status=status, content_type="text/xml", body=f'<?xml version="1.0"?>{text}'.encode())


def _json(status: int, value: Properties) -> ApiReply:
    return ApiReply(status=status, content_type="application/json", body=json.dumps(value).encode())


def _parted(refusal: CloudRefusal) -> tuple[str, str]:
    found = _CODE.fullmatch(str(refusal))
    return (found["code"], found["text"]) if found else ("InternalError", str(refusal))


def _error(service: str, refusal: CloudRefusal) -> ApiReply:
    code, text = _parted(refusal)
    status = _DRY_RUN if code == "DryRunOperation" else _BAD_REQUEST
    error = f"<Error><Code>{code}</Code><Message>{escape(text)}</Message></Error>"
    if service == "ec2":
        return _answer(status, f"<Response><Errors>{error}</Errors><RequestID>0</RequestID></Response>")
    if service == "iam":
        return _answer(404 if code == "NoSuchEntity" else status, f"<ErrorResponse>{error}</ErrorResponse>")
    return _json(status, {"__type": code, "message": text})
