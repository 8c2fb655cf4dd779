"""Networks: encoders turn data into the numbers of q(z|x), decoders turn a code into the numbers of p(x|z)."""
