"""The program, also as `python -m hatchel`, which is how torchrun starts it."""

from __future__ import annotations

import sys


def main() -> None:
    """The commands; imported here, since Ctrl-C may come while they are."""
    try:
        from hatchel.cli.main import main as run

        run()
    except KeyboardInterrupt:
        print("\nhatchel: stopped", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
