"""The mode switch (Gopshtein and Feitelson): when to serve the optimized site, and when to go back."""
