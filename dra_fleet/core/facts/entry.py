"""The base of every fact: immutable, strict, with its source and date."""

import datetime as dt
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

Amount = Annotated[int, Field(ge=0, strict=True)]
"""How much there is of something."""


class Fact(BaseModel):
    """A part of an entry."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=False,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        defer_build=True,
    )


class Entry(Fact):
    """A fact with where it was read and when.

    `assumed` marks values chosen by us because nothing public says them; `source` names what they follow.
    """

    source: str
    date: dt.date
    assumed: bool = False
