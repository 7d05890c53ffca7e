#!/bin/sh
# Temporal's two databases: made once, then brought up to the version of these tools; safe to run again.
set -eu

bring_up() { # database, name of its schema: the tool holds the schemas of its own version
    tool="temporal-sql-tool --plugin $DB --endpoint $POSTGRES_SEEDS --port $DB_PORT --user $POSTGRES_USER --database $1"
    update="$tool update-schema --schema-name postgresql/v12/$2"
    $tool create-database
    said=$($update 2>&1) && return 0
    echo "$said"
    # Only for a database without any version: on one that has a schema this would set its version back to 0.0.
    echo "$said" | grep -Eq 'relation [^ ]*schema_version[^ ]* does not exist' || return 1
    $tool setup-schema --version 0.0
    $update
}

bring_up temporal temporal
bring_up temporal_visibility visibility
