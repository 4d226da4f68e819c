"""Damages copies of one data folder, and checks that none of it goes unseen."""
