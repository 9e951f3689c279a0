"""API keys: looked up in the environment and in `.env` beside the spec, and removed from every text that is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from skynet.errors import SkynetError

SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
SECRET_SHAPE = re.compile(r"(?<=Bearer )\S+|(?<=://)[^/\s@]+(?=@)|\bsk-[A-Za-z0-9_-]{16,}")
SHORTEST_SECRET = 6  # a shorter value would be cut out of ordinary words
HIDDEN = "[key]"
LINE = re.compile(r"""^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(?:"([^"]*)"|'([^']*)'|(.*?))\s*(?:(?<=\s)#.*)?$""")


def read_env_file(path: Path) -> dict[str, str]:
    """Read `NAME=value` lines; quotes, `export` and comments as shells have them, no substitution.

    A missing file is empty; another fault of reading raises SkynetError. Lines of another form are left out.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SkynetError(f"{path} cannot be read: {type(error).__name__}. It must be a text file in UTF-8.") from None
    values: dict[str, str] = {}
    for line in text.splitlines():
        if match := LINE.match(line):
            name, double, single, bare = match.groups()
            values[name] = next(value for value in (double, single, bare) if value is not None)
    return values


class Keys:
    """The keys a run may use. The environment wins over `.env`. Its repr and its errors hold no value."""

    def __init__(self, environ: Mapping[str, str], env_file: Path) -> None:
        self._values = {**read_env_file(env_file), **environ}
        self._env_file = env_file
        self._used: set[str] = set()

    def __repr__(self) -> str:
        return f"Keys({str(self._env_file)!r})"

    def find(self, name: str) -> str | None:
        """Return the value of `name` without surrounding spaces, or None when it is unset or blank."""
        value = self._values.get(name, "").strip()
        if not value:
            return None
        self._used.add(value)
        return value

    def require(self, name: str, model: str) -> str:
        """Return the value of `name`; SkynetError says where to put it when it is missing."""
        value = self.find(name)
        if value is None:
            raise SkynetError(
                f"The model {model!r} takes its key from {name} (api_key_env), which is not set. "
                f"Set it in the environment or write {name}=... into {self._env_file}."
            )
        return value

    def first(self, names: Iterable[str]) -> str | None:
        """Return the first of several keys that is set."""
        return next((value for name in names if (value := self.find(name))), None)

    def redact(self, text: str) -> str:
        """Return `text` with every known key, and whatever looks like one, replaced by `[key]`."""
        named = {value.strip() for name, value in self._values.items() if SECRET_NAME.search(name)}
        secrets = {secret for secret in named if len(secret) >= SHORTEST_SECRET} | self._used
        for secret in sorted(secrets, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return SECRET_SHAPE.sub(HIDDEN, text)
