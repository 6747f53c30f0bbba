"""What a view returns."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from api.web.visit import Visit


@dataclass(frozen=True, slots=True)
class Page:
    """A page to be rendered.

    Attributes:
        template: name of the template, without its suffix.
        title: the page's title and heading.
        values: variables of the template.
        status: the HTTP status.
        charts: whether the page draws charts, and loads what they need.
        verifies: whether the page verifies a proof in the browser, and loads what that needs.
        proves_listing: whether the page verifies its listing in the browser, and loads what that needs.
    """

    template: str
    title: str
    values: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    charts: bool = False
    verifies: bool = False
    proves_listing: bool = False


@dataclass(frozen=True, slots=True)
class Redirect:
    """Another page of this server has what was requested. `path` starts with a slash."""

    path: str


@dataclass(frozen=True, slots=True)
class Download:
    """A file for the browser to save."""

    name: str
    media_type: str
    body: bytes


Answer: TypeAlias = Page | Redirect | Download


@dataclass(frozen=True, slots=True)
class View:
    """A kind of page.

    Attributes:
        path: its path, with `{parameters}`. Below `/{network}` it belongs to one network.
        show: the function that makes it.
        protocol: the protocol of its network; None for any.
    """

    path: str
    show: Callable[[Visit], Awaitable[Answer]]
    protocol: str | None = None
