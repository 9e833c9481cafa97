"""What all functions share: the draft and its rules, ports, storage, settings, telemetry."""
