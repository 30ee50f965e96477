-- When the token expires that let the device in: the device's own ends then at the latest.
ALTER TABLE device_codes ADD COLUMN approver_expires_at timestamptz;
