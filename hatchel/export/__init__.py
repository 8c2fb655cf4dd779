"""A run's encoder and decoder for other programs (ONNX, safetensors, the Hub), each file checked by running it."""
