"""What a server's work costs in CPU time: measured on the real server, kept as a profile that predictions use."""
