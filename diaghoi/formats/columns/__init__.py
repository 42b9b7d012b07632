"""What readers share: columns of rows, numbering, checks, merging."""
