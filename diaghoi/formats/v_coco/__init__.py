"""The files of V-COCO."""
