"""Storage: immutable Parquet tables that carry what made them, and tables computed part by part."""
