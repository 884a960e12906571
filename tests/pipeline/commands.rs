//! What a person types, and what programs read.
