"""Split Encoder (2019): MIG and reconstruction against the plain encoder, and both violations."""

from claims import main

if __name__ == "__main__":
    main(
        __doc__,
        {
            "split-encoder": [],
            "split-violation": [],
        },
    )
