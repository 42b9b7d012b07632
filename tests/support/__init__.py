"""What tests share: small scenes, and the definitions written out as plain loops."""
