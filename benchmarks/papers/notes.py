"""What was looked into where an outcome disagrees with its paper; printed under the study in docs/results.md."""

_ALL_IMAGES = (
    "Of an older setting: every model was trained on all images, and the shares are of labels alone. The study now "
    "trains each model on its share, as the figure's caption says, with five seeds, and was not run so. "
)
NOTES = {
    "hfvae-discrete": (
        "Digits alone, seeds 5 to 9 (`--seeds 10` has them), none of which the head start or any other setting was "
        "chosen with. Without the head start, which is ours, beta-SVAE leaves its classes unused; with it, it finds "
        "fewer of the digits than HFVAE here. JointVAE's classes are sure and do not follow the digits in so short a "
        "training."
    ),
    "dimension-shutdown": (
        "The formula is derived for posteriors that do not overlap. In all dimensions together they never do here; in "
        "a single one they do unless M sigma is well below 1. With sigma = 0.01 the estimate therefore stays below the "
        "formula, the more so the larger the batch; with 0.001 it is there. At the paper's own sigma of 0.1 "
        "single dimensions do overlap, and what fits is (D - S)/2 log(1 + 1/sigma²) - log M (ours)."
    ),
    "domain-generalisation": _ALL_IMAGES
    + (
        "Longer training does not turn it round: with 3,000 steps in place of 1,000, 0 degrees left out, seed 0 and "
        "all labels, RecurD goes from 0.310 to 0.317, beta-VAE from 0.381 to 0.447 and a plain VAE from 0.418 to "
        "0.466. A linear classifier on the pixels, the paper's dotted line, is above all of them at every angle."
    ),
    "downstream-mnist": _ALL_IMAGES
    + (
        "A plain VAE, which the paper does not compare with, is above RecurD and as good as the pixels with few "
        "labels: what RecurD wins over its baselines is less than what their penalties take away. AnnealedVAE's "
        "penalty of 1000 leaves so short a training little to learn from the images, although its "
        "capacity grows within a third of it."
    ),
    "tc-dimension": (
        "Of older settings: batches of 64, six layers, slope 0.2, Adam (0.5, 0.9). The study now has the paper's "
        "general ones, and was not run with them. The truths agree. In 10 dimensions the estimates are about a "
        "tenth too low; in 100 and 1000 they are far too low, as the paper says, and lower than the paper's own."
    ),
    "tc-estimators": (
        "As it is defined (Chen et al. 2018), MWS divides by N M in each density, which makes TC larger by (D - 1) log "
        "N; whoever leaves the constant out gets a lower curve. It is constant, so gradients are the same."
    ),
}

_STAGE = (
    "The pool trains 5,000 steps of 64 images on Shapes3D (10,000 on dSprites) at 32 px, with the paper's printed "
    "weights, which are four times as strong there as at 64 px; the `paper` scale of the same study is 300,000 steps. "
)
PAPERS = {
    "DeVAE, Wu et al. 2023": _STAGE + "Under such weights DeVAE (1, 10, 40) keeps two hues and little else: "
    "seven of ten seeds use one or two dimensions of ten, and the error is far above the other methods'. Its MIG is "
    "half of beta-TCVAE 12's, not above it. Looked into: "
    "one seed trained on all items in place of nine tenths has four dimensions and a MIG of 0.39, the version of "
    "the program before its redesign gives that number to the digit, and the loss by hand agrees; so it is the spread "
    "of a short training, not a changed term. Not tried yet: weights as strong as at 64 px, and 30,000 steps. Its "
    "motive, that a discriminator's estimate of TC fails in high dimensions, was run at the paper's sizes.",
    "HFVAE, Esmaeili et al. 2019": "What each of the four terms of its bound does (Fig. 3) comes out as it says, all "
    "four. On MNIST the discrete variable was run with five fresh seeds, unseen combinations at the paper's networks "
    "and sizes with five: both HFVAE and beta-VAE reconstruct removed digits a fifth worse than models that saw them. "
    "Features over training have three seeds and Fashion-MNIST few: a verdict takes five. On Shapes3D its MIG is above "
    "a VAE's, its FactorVAE score is not; beta-SVAE and beta-TCVAE 4 were not run beside it. What was looked into "
    "stands under hfvae-discrete below.",
    "RTC-VAE, Cheng et al. 2020": _STAGE + "The theory and the estimators' errors were run at the paper's sizes with "
    "ten seeds, and mostly hold. At strength 10 RTC-VAE's means are as independent as its samples with eta = 30, and "
    "FactorVAE's are not, as the paper says; other strengths have not been run.",
    "RecurD, Chen et al. 2022": _STAGE
    + "RecurD-1 has been trained without its regulariser (l2 = 0, the architecture alone) and with it (l2 = 0.1), its "
    "baselines with 8 dimensions at eight settings, five seeds each. Its MIG is below that of beta-VAE 4 and 16, "
    "FactorVAE 6.4 and beta-TCVAE 4, of the last by almost half a unit. Its error is below that of every beta-VAE, "
    "of beta-TCVAE and of AnnealedVAE, which has learned little in so short a training, and is not told apart from "
    "a plain VAE's, FactorVAE's and DIP-VAE-I's. RecurD-1 does not find all six factors, with or without the "
    "regulariser, which does not help as it is read here: MIG is lower with it, the error larger, both within the "
    "spread of seeds. That a beta-VAE's error grows with beta holds, and its costs are as the paper counts them. "
    "The other readings, routers and depths have not been run with seeds enough. Its two downstream tasks were run "
    "on real MNIST with three seeds, too few for a verdict, and with models that had seen all images whatever the "
    "share of labels.",
    "Split Encoder 2019": _STAGE + "The paper's own data are dSprites and Cars3D: on Shapes3D its claims are marked "
    "as ours. Looked into: two trial seeds of FactorVAE 10 with the split encoder had MIGs of 0.64 and 0.46; the five "
    "seeds here are 0.44, 0.26, 0.22, 0.15 and 0.12. The encoder's losses agree with those of the trial's program over "
    "the first steps, so two seeds were too few to see the spread.",
}
"""Under a paper's name: settings, budget, what is decided; numbers stand in the table beside it."""
