"""RTC-VAE (Cheng et al. 2020): means as independent as samples, where FactorVAE's are not."""

from claims import main

if __name__ == "__main__":
    main(
        __doc__,
        {
            "tc-disparity": ["method=FactorVAE", "method=RTC-VAE"],
            "disintegration": ["method=FactorVAE", "method=RTC-VAE"],
        },
    )
