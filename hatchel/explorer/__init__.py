"""The explorer room: a run made ready to be looked at (`exhibit`), served (`server`) or put in a folder (`static`)."""
