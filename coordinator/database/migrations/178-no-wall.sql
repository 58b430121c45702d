drop table wall_links;
