"""The route of an operation, at one of its paths."""

import re
from functools import cached_property

from starlette.convertors import CONVERTOR_TYPES
from starlette.routing import Route, compile_path
from starlette.types import ASGIApp

from api.http.operations import Family, Mount, Operation, application

PATH_PARAMETER = re.compile(r"\{(\w+)(?::(\w+))?\}")
"""A parameter in a path, with the name of its convertor unless that is `str`."""


class OperationRoute(Route):
    """An operation at one of its paths, served by `application`. `api.http.contract` documents it.

    `Route` compiles a regular expression for each path, which takes two thirds of the time of `create_app`. Here it is
    compiled when read: OperationRouter needs none. The application is created for the first request.
    """

    def __init__(
        self, operation: Operation, family: Family, mount: Mount, elsewhere: frozenset[str] = frozenset()
    ) -> None:
        """For `elsewhere` see `application`."""
        self.path = mount.prefix + operation.path
        self.endpoint = operation.handler
        self.name, self.methods, self.include_in_schema = operation.handler.__name__, {operation.method}, True
        self.path_format = PATH_PARAMETER.sub(r"{\1}", self.path)
        self.param_convertors = {
            name: CONVERTOR_TYPES[kind or "str"] for name, kind in PATH_PARAMETER.findall(self.path)
        }
        self.operation_id = operation.handler.__name__ + mount.suffix
        self.takes_slash = family.takes_slash
        self.prefix = mount.prefix
        self.error_body = family.error_body
        self.operation, self.family, self.mount = operation, family, mount
        self._elsewhere = elsewhere

    @cached_property
    def app(self) -> ASGIApp:  # type: ignore[override]  # an attribute of Route
        """Serves a request."""
        return application(self.operation, self.family, self.mount, self._elsewhere)

    @cached_property
    def path_regex(self) -> re.Pattern[str]:  # type: ignore[override]  # an attribute of Route
        """The path as a regular expression, for `Route.matches`."""
        return compile_path(self.path)[0]
