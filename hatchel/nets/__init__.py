"""Encoders and decoders: from items to the parameters of q(z|x), and from codes to the parameters of p(x|z)."""
