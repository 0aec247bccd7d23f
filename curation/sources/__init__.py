"""Read published image collections as plain records, and find images shared between splits. No framework."""
