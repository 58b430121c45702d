terraform {
  required_providers {
    antipode = {
      source = "antipode.example/antipode/antipode"
    }
  }
}

# The address and the token are in ANTIPODE_URL and ANTIPODE_TOKEN.
provider "antipode" {}

variable "checkout_token" {
  type      = string
  sensitive = true
}

resource "antipode_group" "web" {
  name        = "Web"
  description = "What customers see"
  external_id = "shop/web"
}

resource "antipode_monitor" "checkout" {
  target      = "https://shop.example/checkout"
  group       = antipode_group.web.id
  external_id = "shop/checkout"
  tags        = ["shop"]

  https = {
    expected_status = ["2xx", 304]
    bearer_token    = var.checkout_token
    json            = [{ path = "$.items", gt = 0 }, { path = "$.state", equals = "open" }]
  }
}

resource "antipode_monitor" "front" {
  for_each = toset(["de", "fr"])

  target = "https://${each.key}.shop.example/"
  https  = {}
}

resource "antipode_monitor" "backup" {
  name        = "Backup"
  external_id = "shop/backup"
  interval_s  = 86400

  heartbeat = { grace_s = 600 }
}

resource "antipode_ping_key" "jobs" {
  name = "Nightly jobs"
}

resource "antipode_channel" "team" {
  covers = "chosen"
  groups = [antipode_group.web.id]
  try    = false # Sends no message before it is saved.

  slack = { url = "https://hooks.slack.com/services/T000/B000/XXXXXXXXXXXXXXXX" }
}

resource "antipode_maintenance_window" "release" {
  name      = "Weekly release"
  starts_at = "2027-01-05T02:00"
  ends_at   = "2027-01-05T03:00"
  rrule     = "FREQ=WEEKLY;BYDAY=TU"
  time_zone = "Europe/Berlin"
  groups    = [antipode_group.web.id]
}

resource "antipode_status_page" "shop" {
  name = "Shop status"
  slug = "shop"
  rows = [
    { group = antipode_group.web.id },
    { monitor = antipode_monitor.checkout.id, display_name = "Checkout" },
    { monitor = antipode_monitor.backup.id, display_name = "Backup" },
  ]
}

resource "antipode_probe_invitation" "office" {
  name      = "Office Berlin 1"
  continent = "Europe"
}

output "backup_address" {
  value     = replace(antipode_ping_key.jobs.address, "EXTERNAL_ID", antipode_monitor.backup.external_id)
  sensitive = true
}
