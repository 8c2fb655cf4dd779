"""Latents: how the encoder's output becomes q(z|x), what p(z) is, and likelihoods p(x|z).

A `Latent` has a `Layout`, its sites; its module makes a `Posterior` from the encoder's output, and its `Prior`.
"""
