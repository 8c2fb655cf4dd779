"""Room: latents."""
