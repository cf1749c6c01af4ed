"""Every knob of an emitted configuration pulled on a test server under load: what it buys, and what it breaks."""
