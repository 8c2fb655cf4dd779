"""RTC-VAE (paper 004): means as independent as samples, where FactorVAE's are not."""

from claims import main

if __name__ == "__main__":
    main(
        __doc__,
        {
            "tc-disparity": ["method=FactorVAE", "method=RTC-VAE"],
            "disintegration": ["method=FactorVAE", "method=RTC-VAE"],
        },
    )
