"""RecurD (Chen et al. 2022): reconstruction and disentanglement against the baselines, by layer, and the cost."""

from claims import main

if __name__ == "__main__":
    main(
        __doc__,
        {
            "recurd-table2": ["data=dSprites", "method=RecurD", "method=beta-VAE 4", "method=FactorVAE"],
            "recurd-layers": ["method=RecurD-1"],
            "recurd-cost": [],
        },
    )
