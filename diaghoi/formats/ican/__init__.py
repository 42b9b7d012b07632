"""The results of iCAN, TIN, DRG and VCL on HICO-DET."""
