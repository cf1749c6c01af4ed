"""The papers that adaptc is built on, repeated: python -m benchmarks.papers [PART...], or make papers."""
