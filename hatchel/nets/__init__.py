"""Encoders and decoders: networks from items to the numbers of q(z|x), and from codes to the numbers of p(x|z)."""
