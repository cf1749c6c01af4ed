"""How busy the server is: CPU, connections, idle workers, pressure. Parsing is apart from reading."""
