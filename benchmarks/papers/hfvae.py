"""HFVAE (paper 003) on real MNIST: classes in the discrete variable, style that keeps the digit, unused dimensions."""

from claims import main

if __name__ == "__main__":
    main(__doc__, "hfvae-discrete", "hfvae-features", data="MNIST")
