"""What every function shares: the draft and its state machine, ports, storage, settings, telemetry."""
