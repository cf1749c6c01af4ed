"""The soak test: kills, limits of memory, lost power and fuzzed documents, each judged against clean builds."""
