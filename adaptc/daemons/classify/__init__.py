"""The client classifier (Krishnamurthy, Zhang, Wills and Vishwanath): poor, normal or rich, from the access log."""
