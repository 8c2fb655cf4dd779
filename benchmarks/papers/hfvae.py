"""HFVAE (Esmaeili et al. 2019) on real MNIST: classes in the discrete variable, style that keeps the digit."""

from claims import main

if __name__ == "__main__":
    main(
        __doc__,
        {
            "hfvae-discrete": ["data=MNIST"],
            "hfvae-features": ["data=MNIST"],
        },
    )
