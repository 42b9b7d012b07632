"""Ask a vision-language model the questions, with the picture and resumably."""
