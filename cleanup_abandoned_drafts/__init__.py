"""The timers: what is abandoned is ended or deleted, what is unattended is sent again."""
