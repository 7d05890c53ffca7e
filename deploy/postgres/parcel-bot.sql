-- A store of its own for the example (profile parcel-bot): two projects never share one.
CREATE DATABASE parcel_bot;
