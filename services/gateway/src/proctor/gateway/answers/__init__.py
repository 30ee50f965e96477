"""What `/api/v1` answers, as models: the OpenAPI document is made of them, and tests hold the answers to it."""
