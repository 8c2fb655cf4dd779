"""`python -m hatchel`, which is also how torchrun starts it."""

from hatchel.cli.main import main

if __name__ == "__main__":
    main()
