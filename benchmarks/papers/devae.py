"""DeVAE (Wu et al. 2023): equal MIG at all layers, reconstruction at the first; a thousand dimensions."""

from claims import main

if __name__ == "__main__":
    main(
        __doc__,
        {
            "devae-comparison": ["method=DeVAE", "method=beta-VAE 4", "method=beta-VAE 10"],
            "devae-highdim": [],
        },
    )
