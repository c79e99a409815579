"""What a person looks at: tables in the terminal, figures, a page. Reads records, never state."""
