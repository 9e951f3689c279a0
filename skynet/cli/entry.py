"""Where the command `skynet` begins: a Ctrl-C while it is still being imported has its words too."""

from __future__ import annotations

import sys


def main() -> None:
    """Import the command line, run it and exit."""
    try:
        from skynet.cli.main import main as run
    except KeyboardInterrupt:
        print("Interrupted before anything was started.", file=sys.stderr)
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
