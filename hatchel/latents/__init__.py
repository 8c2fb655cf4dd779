"""Latents: how the encoder's numbers become q(z|x), what p(z) is, and likelihoods p(x|z).

A `Latent` has a `Layout`, its sites; its module makes a `Posterior` from numbers of the encoder, and its `Prior`.
"""
