"""What goes wrong, as exceptions whose text is one clear line."""

from typing import Dict, Type


class Error(Exception):
    """Whatever goes wrong in Wharf."""


class InvalidArgument(Error, ValueError):
    """A model, an input or an option that cannot be used."""


class NotFound(Error, FileNotFoundError):
    """A file that is not there; or Wharf's programs."""


class PermissionDenied(Error, PermissionError):
    """A file that may not be read; a server that does not know the token, or that we do not trust."""


class Unavailable(Error, ConnectionError):
    """No server answers, or it has no room."""


class Unsupported(Error, NotImplementedError):
    """A model that Wharf cannot run; the line names operator, node and remedy."""


class EngineDied(Error):
    """The process that held the model has ended. Load the model again."""


class Closed(Error):
    """The model was closed, or belongs to another process."""


_BY_CODE: Dict[str, Type[Error]] = {
    "INVALID_ARGUMENT": InvalidArgument,
    "NOT_FOUND": NotFound,
    "PERMISSION_DENIED": PermissionDenied,
    "UNAUTHENTICATED": PermissionDenied,
    "UNAVAILABLE": Unavailable,
    "DEADLINE_EXCEEDED": Unavailable,
    "UNIMPLEMENTED": Unsupported,
}


def error_of(code: str, line: str) -> Error:
    """The exception for a status of the engine's."""
    return _BY_CODE.get(code, Error)(line)
