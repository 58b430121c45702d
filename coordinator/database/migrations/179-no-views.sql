drop table views;
