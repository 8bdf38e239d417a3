"""What RAM is asked about a login: its policies and those of its groups, and what they say of some actions.

RAM has no call that evaluates policies, so they are read as its grammar says: a Deny comes before any Allow.
Sources: https://www.alibabacloud.com/help/en/ram/developer-reference/api-overview and
https://www.alibabacloud.com/help/en/ram/user-guide/policy-structure-and-syntax.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BeforeValidator, Field

from dra_fleet.clouds.ack.answers import AttachedPolicies, Groups, RamPolicy
from dra_fleet.clouds.answers import Answered, judge_permissions
from dra_fleet.clouds.questions import CloudQuestion, judged_together, matches

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic import BaseModel

    from dra_fleet.clouds.ack.answers import RamCaller
    from dra_fleet.findings.preflight import PreflightFinding

_ROLE: Final = "AssumedRoleUser"
_USER: Final = "RAMUser"
_FULL: Final = "AliyunCSFullAccess"
_NETWORK: Final = "AliyunVPCFullAccess"


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


_Patterns = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class _Statement(Answered):
    effect: Literal["Allow", "Deny"] = Field(alias="Effect")
    actions: _Patterns = Field(default=(), alias="Action")
    excepted: _Patterns = Field(default=(), alias="NotAction")
    resources: _Patterns = Field(default=(), alias="Resource")
    condition: object = Field(default=None, alias="Condition")

    def covers(self, action: str) -> bool:
        return not matches(action, self.excepted) if self.excepted else matches(action, self.actions)

    @property
    def is_whole(self) -> bool:
        """Whether it holds for every resource, at all times."""
        return "*" in self.resources and not self.condition


class _Document(Answered):
    statements: tuple[_Statement, ...] = Field(alias="Statement")


def permission_questions(caller: RamCaller, wanted: Sequence[str]) -> Sequence[CloudQuestion]:
    """What RAM is asked; nothing where the login is the account itself, which may do everything.

    Args:
        caller: the login.
        wanted: the actions that the stack needs.
    """
    if caller.kind == _ROLE:
        of_role = _question("ListPoliciesForRole", AttachedPolicies, caller, "--RoleName", caller.name)
        return judged_together(
            [of_role], partial(_without_any, caller, wanted), partial(_documents, caller, wanted)
        )
    if caller.kind != _USER:
        return ()
    named = ("--UserName", caller.name)
    return judged_together(
        [
            _question("ListPoliciesForUser", AttachedPolicies, caller, *named),
            _question("ListGroupsForUser", Groups, caller, *named),
        ],
        lambda told: () if told[1].groups.items else _without_any(caller, wanted, told[:1]),
        lambda told: _of_groups(caller, wanted, *told),
    )


def _of_groups(
    caller: RamCaller, wanted: Sequence[str], own: AttachedPolicies, groups: Groups
) -> Sequence[CloudQuestion]:
    return judged_together(
        [
            _question("ListPoliciesForGroup", AttachedPolicies, caller, "--GroupName", group.name)
            for group in groups.groups.items
        ],
        lambda told: _without_any(caller, wanted, (own, *told)),
        lambda told: _documents(caller, wanted, (own, *told)),
    )


def _documents(
    caller: RamCaller, wanted: Sequence[str], attached: tuple[AttachedPolicies, ...]
) -> Sequence[CloudQuestion]:
    policies = {(item.type, item.name) for told in attached for item in told.policies.items}
    return judged_together(
        [
            _question("GetPolicy", RamPolicy, caller, "--PolicyType", kind, "--PolicyName", name)
            for kind, name in sorted(policies)
        ],
        partial(_judge, caller, wanted),
    )


def _without_any(
    caller: RamCaller, wanted: Sequence[str], attached: tuple[AttachedPolicies, ...]
) -> Iterator[PreflightFinding]:
    """The findings where there is no policy to read."""
    if not any(told.policies.items for told in attached):
        yield from _judge(caller, wanted, ())


def _judge(
    caller: RamCaller, wanted: Sequence[str], told: tuple[RamPolicy, ...]
) -> Iterator[PreflightFinding]:
    statements = [
        statement
        for policy in told
        for statement in _Document.model_validate_json(policy.version.document).statements
    ]
    missing: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for action in wanted:
        covering = [statement for statement in statements if statement.covers(action)]
        denied = [statement for statement in covering if statement.effect == "Deny"]
        if not covering or any(statement.is_whole for statement in denied) or len(denied) == len(covering):
            missing[action] = _ask(caller, action)
        elif denied or not any(statement.is_whole for statement in covering):
            unknown[action] = "its policies name resources or conditions"
    yield from judge_permissions(missing, unknown, f"account {caller.account}")


def _ask(caller: RamCaller, action: str) -> str:
    to = "Role" if caller.kind == _ROLE else "User"
    policy = _NETWORK if action.startswith("vpc:") else _FULL
    return f"aliyun ram AttachPolicyTo{to} --PolicyType System --PolicyName {policy} --{to}Name {caller.name}"


def _question(operation: str, answer: type[BaseModel], caller: RamCaller, *options: str) -> CloudQuestion:
    return CloudQuestion(
        subject="permissions",
        about=f"what {caller.arn} may do",
        command=("aliyun", "ram", operation, *options),
        answer=answer,
        judge=lambda _: (),
    )
